# SPDX-License-Identifier: GPL-2.0-only
"""An idle guest of four CPUs is left idle: at most one timer wake-up a second over 30 s (P7)."""
import guest
from guest import require

SECONDS = 30
BASE_SECONDS = 15


def softirqs(name):
    for line in guest.Path('/proc/softirqs').read_text(encoding='ascii').splitlines():
        if line.strip().startswith(f'{name}:'):
            return sum(map(int, line.split()[1:]))
    raise guest.Skip(f'/proc/softirqs has no {name}')


def hrtimers_in(seconds):
    before = softirqs('HRTIMER')
    guest.time.sleep(seconds)
    return softirqs('HRTIMER') - before


def test():
    guest.time.sleep(2)
    base = hrtimers_in(BASE_SECONDS)
    with guest.Steward() as steward:
        # Not idle yet: the start itself, and the first passes after it.
        guest.time.sleep(3)
        before = steward.stats()
        ours = hrtimers_in(SECONDS)
        after = steward.stats()
        passes = after['passes'] - before['passes']
        more = ours - base * SECONDS / BASE_SECONDS
        guest.note(f'{SECONDS} s idle: {passes} passes; HRTIMER softirqs {ours}, without a scheduler '
                   f'{base * SECONDS / BASE_SECONDS:.0f}')
        require(passes <= SECONDS, f'{passes} passes in {SECONDS} idle seconds')
        require(more <= SECONDS, f'{more:.0f} more timer wake-ups in {SECONDS} s than without the scheduler')
        # Parked is not dead.
        with guest.hogs(6):
            guest.time.sleep(1.5)
            require(steward.stats()['passes'] > after['passes'] + 5, 'no passes when load came after the quiet')
