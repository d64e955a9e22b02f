"""`python -m toolcrib.demo.calendar`: the calendar as a stdio server."""

from toolcrib.demo.calendar import APP

if __name__ == "__main__":
    APP.serve()
