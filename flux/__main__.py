"""`python -m flux`."""

from flux.cli import main

if __name__ == "__main__":
    main()
