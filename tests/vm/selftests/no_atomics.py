# SPDX-License-Identifier: GPL-2.0-only
"""The loaded programs of the scheduling paths hold no atomic read-modify-write (P2); those of the ablation `atomic` do."""
import bpfinfo
import guest
from guest import require

# Runs once, when the scheduler has ended: the exchange there publishes why. Proves that the search finds one.
NO_PATH = {'steward_exit'}
# Names are cut at 15 characters.
PATHS = {'steward_select_', 'steward_enqueue', 'steward_dispatc', 'steward_running', 'steward_stoppin', 'steward_init'}


def atomics(mode):
    """{program: how many atomic instructions it has}, those without one left out."""
    with guest.Steward('--blocked-load', mode):
        loaded = bpfinfo.programs('steward_')
    missing = {path for path in PATHS if not any(name.startswith(path) for name in loaded)}
    require(not missing, f'{missing} is not among {sorted(loaded)}')
    require(all(code for code in loaded.values()), 'a program shows no instructions')
    guest.note(f'{mode}: {sum(map(len, loaded.values()))} instructions in {len(loaded)} programs')
    return {name: count for name, code in loaded.items() if (count := bpfinfo.atomic_count(code))}


def test():
    for mode in ('ring', 'none'):
        found = atomics(mode)
        require(set(found) == NO_PATH, f'{mode}: atomic instructions in {found}')
    found = atomics('atomic')
    guest.note(f'atomic: {found}')
    for name in ('steward_running', 'steward_stoppin'):
        require(any(program.startswith(name) for program in found), f'none in {name} under atomic')
