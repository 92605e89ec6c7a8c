"""Mutants: seeded faults, and whether the tests notice them.

In come `mutants.toml` and the tree. Out come a copy of the tree that holds all faults, and the
verdict on each: the test that has killed it, or that it survived. A fault in the copy sleeps until
the variable NANDLAB_MUTANT names it, so that one build serves all of them.

- `list`: the list of mutants, and its checks.
- `schema`: a mutant in the text of its file; `copy`: the tree with all of them.
- `suite`: a part of the tests, and how it ends.
- `trial`: the tests of one mutant; `table`: the rows of all.

`PYTHONPATH=tools python -m mutants check | make FOLDER | run FOLDER`
"""
