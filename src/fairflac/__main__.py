"""`python -m fairflac`."""

from fairflac.cli import main

if __name__ == "__main__":
    main()
