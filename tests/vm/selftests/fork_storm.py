# SPDX-License-Identifier: GPL-2.0-only
"""Fork, exec, thread and pipe storms with a 5 s watchdog, in which the scheduler is also started and ended."""
import guest
from guest import require


def test(seconds=20):
    storm = ('stress-ng', '--fork', 4, '--vfork', 2, '--exec', 2, '--pthread', 2, '--pipe', 2, '-t', seconds, '-q')
    with guest.Steward() as steward:
        done = guest.command(*storm, seconds=int(seconds) + 60)
        require(done.returncode in (0, 3), f'stress-ng ended with {done.returncode}: {done.stdout}')
        stats = steward.stats()
        require(stats['passes'] > 0, 'no pass')
        guest.note(f"{stats['passes']} passes, moved {stats['moved']}")
    # Start and end in the middle of it.
    with guest.background('stress-ng', '--fork', 2, '--exec', 1, '-t', 300, '-q'):
        guest.time.sleep(1)
        with guest.Steward():
            guest.time.sleep(1)
