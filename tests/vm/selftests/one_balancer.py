# SPDX-License-Identifier: GPL-2.0-only
"""Under load of every kind balancing passes run on the timer CPU and on no other (P1)."""
import guest
from guest import require


def test():
    with guest.Steward() as steward:
        for load in (('--cpu', 6), ('--cpu', 3, '--switch', 4), ('--fork', 4, '--pipe', 2)):
            before = steward.stats()
            done = guest.command('stress-ng', *load, '-t', 4, '-q')
            require(done.returncode == 0, f'stress-ng {load}: {done.stdout}')
            after = steward.stats()
            grown = guest.pass_growth(before, after)
            require(set(grown) == {after['timer_cpu']}, f"timer CPU {after['timer_cpu']}, passes grew on {grown}")
            require(sum(grown.values()) == after['passes'] - before['passes'],
                    f"passes grew by {after['passes'] - before['passes']}, those of the CPUs by {grown}")
            require(after['passes'] - before['passes'] >= 20, f'only {grown} passes in 4 s of load')
            guest.note(f"{load}: {grown}, summoned {after['summoned_passes'] - before['summoned_passes']}")
