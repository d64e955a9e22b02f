"""The doctor: looks a configuration and its servers over, and says what is wrong with them."""

from toolcrib.doctor.configuration import read_configuration
from toolcrib.doctor.examination import examine
from toolcrib.doctor.finding import LEVELS, Diagnosis, Finding, Level

__all__ = ["LEVELS", "Diagnosis", "Finding", "Level", "examine", "read_configuration"]
