"""Writing a file whole or not at all."""

from pathlib import Path


def write(path: Path, text: str, mode: int = 0o600) -> bool:
    """Replace a file at once; whether its text changed."""
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.replace(path)
    return True
