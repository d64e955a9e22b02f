"""Where data came from and where it goes."""

from toolcrib.broker.dataflow.flow import Memory
from toolcrib.broker.dataflow.seam import DataFlow, NoDataFlow, Trace

__all__ = ["DataFlow", "Memory", "NoDataFlow", "Trace"]
