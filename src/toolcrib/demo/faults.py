"""The error by which a demo server says that a call can't be done."""

from toolcrib.errors import ToolcribError


class DemoError(ToolcribError):
    """A demo server can't do what was asked; the model reads the message and the hint as `isError` text."""

    code = "demo_refused"
