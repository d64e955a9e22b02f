"""What code mode costs, and what it saves."""
