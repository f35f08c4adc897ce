"""The model of this project (`model.py`) and the service that answers with it (`serve.py`)."""
