"""The same calls over real servers, made straight and through Toolcrib: what comes back is the same."""
