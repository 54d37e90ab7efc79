"""`python -m scrubjay` is `scrubjay`."""

from scrubjay.doors.cli import main

if __name__ == "__main__":
    main()
