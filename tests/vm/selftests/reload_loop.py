# SPDX-License-Identifier: GPL-2.0-only
"""Fifty starts and ends leave no program, map or link behind."""
import guest
from guest import require

ROUNDS = 50


def test(rounds=ROUNDS):
    with guest.Steward():
        during = guest.bpf_objects()
    before = guest.poll(lambda: settled(during), 10)
    require(before, 'the programs of the first run do not go away')
    for number in range(int(rounds)):
        steward = guest.Steward().start()
        steward.require_alive()
        steward.stop(guest.signal.SIGTERM if number % 2 else guest.signal.SIGINT)
    # The kernel frees them after a grace period.
    require(guest.poll(lambda: guest.bpf_objects() == before, 15, step=0.5),
            f'left behind after {rounds} rounds: {guest.bpf_objects()} instead of {before}')
    guest.note(f'{rounds} rounds, {during} while loaded, {before} before and after')


def settled(during):
    """The objects that exist without the scheduler, once two looks agree."""
    first = guest.bpf_objects()
    if first['prog'] >= during['prog'] or first['map'] >= during['map']:
        return None
    guest.time.sleep(1)
    return first if guest.bpf_objects() == first else None
