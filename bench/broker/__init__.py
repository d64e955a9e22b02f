"""What the broker costs: a call through it, its rules, its journal, its memory of what was read.

`python -m bench.broker`. Each module here is a part of it: it has `measure(options)`, which gives its figures, and
`targets(figures)`; `add_options(parser)`, where it has options.
"""
