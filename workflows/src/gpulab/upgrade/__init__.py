"""`gpulab platform`: bring an installation to this version of gpulab, and pin what an overlay installs."""
