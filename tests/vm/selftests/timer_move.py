# SPDX-License-Identifier: GPL-2.0-only
"""The timer CPU can be moved at run time: afterwards passes grow there and nowhere else."""
import guest
from guest import require


def test():
    with guest.Steward() as steward, guest.hogs(6), guest.background('stress-ng', '--switch', 2, '-t', 300, '-q'):
        for cpu in (2, 1, 3, 0, 2):
            steward.set(timer_cpu=cpu)
            require(guest.poll(lambda: steward.stats()['timer_cpu'] == cpu, 2), f'timer_cpu does not become {cpu}')
            guest.time.sleep(0.2)
            before = steward.stats()
            guest.time.sleep(1)
            grown = guest.pass_growth(before, steward.stats())
            require(set(grown) == {cpu}, f'timer_cpu={cpu}, but passes grew on {grown}')
            require(grown[cpu] >= 5, f'only {grown[cpu]} passes in a second of load')
            guest.note(f'timer_cpu={cpu}: {grown[cpu]} passes in a second')
    with guest.Steward('--timer-cpu', 3) as steward, guest.hogs(6):
        guest.time.sleep(1)
        require(set(guest.passes_by_cpu(steward.stats())) == {3}, f'--timer-cpu 3: {guest.passes_by_cpu(steward.stats())}')
