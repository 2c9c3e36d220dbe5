# SPDX-License-Identifier: GPL-2.0-only
"""Under affinity churn and fork load with a 5 s watchdog the scheduler stays, and pinned tasks still run."""
import guest
from guest import require


def test(seconds=45):
    with guest.Steward() as steward:
        cpus = guest.online_cpus()
        number = len(cpus)
        done = guest.command('stress-ng', '-t', seconds, '--aggressive', '--cpu', number, '--fork', number,
                             '--affinity', number, '--affinity-pin', '--affinity-delay', '1', '--metrics-brief',
                             seconds=int(seconds) + 60)
        require(done.returncode == 0, f'stress-ng ended with {done.returncode}: {done.stdout}')
        for stressor in ('cpu', 'fork', 'affinity'):
            line = [line for line in done.stdout.splitlines() if f' {stressor} ' in line and 'dispatching' not in line]
            require(line and any(int(word) > 0 for word in line[-1].split() if word.isdigit()),
                    f'stress-ng {stressor} did nothing: {done.stdout}')
        steward.require_alive()
        for cpu in cpus:
            with guest.hogs(1, cpus={cpu}) as pinned:
                require(guest.poll(lambda: guest.run_ns(pinned[0].pid) > 50e6, 2), f'a task pinned to {cpu} hardly runs')
        steward.require_alive()
        stats = steward.stats()
        require(stats['passes'] > 0, 'no pass')
        guest.note(f"{stats['passes']} passes, moved {stats['moved']}")
