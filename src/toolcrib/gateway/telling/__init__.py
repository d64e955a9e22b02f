"""What the gateway tells its clients unasked: changes of its lists, and of resources that they follow."""

from toolcrib.gateway.telling.sessions import Session, Sessions
from toolcrib.gateway.telling.subscriptions import Subscriptions
from toolcrib.gateway.telling.telling import Telling, Wanted

__all__ = ["Session", "Sessions", "Subscriptions", "Telling", "Wanted"]
