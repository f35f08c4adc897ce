"""The command `gpulab`: one module per verb, errors as one line, exit codes 0 pass, 1 gate, 2 input, 3 platform."""

import sys

from gpulab.errors import GpulabError


def main() -> None:
    """Run the command line; the entry point of the package."""
    from gpulab.cli.app import app
    from gpulab.cli.words import speak_utf8

    speak_utf8()
    try:
        app(sys.argv[1:])(prog_name="gpulab")
    except GpulabError as error:
        print(f"gpulab: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except OSError as error:
        print(f"gpulab: {error.filename or 'a file'}: {error.strerror}", file=sys.stderr)
        raise SystemExit(3) from None
