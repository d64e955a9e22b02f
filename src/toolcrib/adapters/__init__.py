"""The tools of a crib in other frameworks: one module each, which imports that framework and its extra alone."""
