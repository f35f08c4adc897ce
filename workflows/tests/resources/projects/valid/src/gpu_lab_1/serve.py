"""The service."""


def main() -> None:
    """Serve."""


if __name__ == "__main__":
    main()
