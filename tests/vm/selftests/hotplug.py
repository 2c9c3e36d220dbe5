# SPDX-License-Identifier: GPL-2.0-only
"""CPUs go offline and online under load, the timer CPU too: one CPU balances at any time, no task stays behind."""
import guest
from guest import require


def only_one_balances(steward, seconds=1.5):
    """Passes grow, on one CPU only; returns that CPU."""
    before = steward.stats()
    guest.time.sleep(seconds)
    after = steward.stats()
    grown = guest.pass_growth(before, after)
    require(len(grown) == 1, f'passes grew on CPUs {grown}, not on one')
    require(after['timer_cpu'] in grown, f"timer_cpu is {after['timer_cpu']}, passes grew on {grown}")
    return after['timer_cpu']


def offline_timer_cpu(steward, cpu):
    steward.set(timer_cpu=cpu)
    require(guest.poll(lambda: steward.stats()['timer_cpu'] == cpu, 3), f'the timer does not move to CPU {cpu}')
    guest.time.sleep(0.3)
    only_one_balances(steward)
    with guest.hogs(3, cpus={cpu}) as pinned:
        guest.time.sleep(0.3)
        took = guest.set_online(cpu, False)
        guest.note(f'CPU {cpu} offline in {took:.2f} s')
        ran = [guest.run_ns(hog.pid) for hog in pinned]
        require(guest.poll(lambda: steward.stats()['timer_cpu'] != cpu, 3), f'timer_cpu stays {cpu}, which is offline')
        new = only_one_balances(steward)
        require(new in guest.online_cpus(), f'CPU {new} balances and is offline')
        require(all(guest.run_ns(hog.pid) > old + 50e6 for hog, old in zip(pinned, ran)),
                'a task of the offline CPU stands still')
    guest.set_online(cpu, True)
    guest.time.sleep(0.3)
    back = only_one_balances(steward)
    guest.note(f'timer CPU {cpu} went offline: {new} took over; online again: {back}')
    with guest.hogs(1, cpus={cpu}) as pinned:
        require(guest.poll(lambda: guest.run_ns(pinned[0].pid) > 100e6, 2), f'CPU {cpu} runs nothing after it came back')


def test(rounds=8):
    last = guest.online_cpus()[-1]
    if last < 2 or not guest.Path(f'/sys/devices/system/cpu/cpu{last}/online').exists():
        raise guest.Skip('needs three CPUs, two of which can go offline')
    with guest.Steward() as steward, guest.hogs(6) as hogs, \
            guest.background('stress-ng', '--switch', 2, '--fork', 1, '-t', 300, '-q'):
        offline_timer_cpu(steward, last)
        offline_timer_cpu(steward, 1)
        steward.require_alive()
        steward.set(timer_cpu=last)
        for number in range(int(rounds)):
            for cpu in range(last, 0, -1):
                guest.set_online(cpu, False)
                guest.time.sleep(0.05 * (number % 3))
            for cpu in range(1, last + 1):
                guest.set_online(cpu, True)
                guest.time.sleep(0.05 * (number % 2))
        steward.require_alive()
        ran = [guest.run_ns(hog.pid) for hog in hogs]
        only_one_balances(steward, 2)
        require(all(guest.run_ns(hog.pid) > old for hog, old in zip(hogs, ran)), 'a hog stands still after the loop')
