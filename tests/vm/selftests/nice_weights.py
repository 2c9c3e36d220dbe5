# SPDX-License-Identifier: GPL-2.0-only
"""Two hogs on one CPU at nice 0 and nice 5 share it 3.05 to 1, within 10 percent; nice 19 is slow, not stopped."""
import guest
from guest import require

EXPECTED = 1024 / 335


def share(nice, seconds):
    with guest.hogs(1, cpus={1}) as plain, guest.hogs(1, cpus={1}, nice=nice) as other:
        guest.time.sleep(0.5)
        before = [guest.run_ns(hog[0].pid) for hog in (plain, other)]
        guest.time.sleep(seconds)
        ran = [guest.run_ns(hog[0].pid) - old for hog, old in zip((plain, other), before)]
    require(sum(ran) > 0.8 * seconds * 1e9, f'CPU 1 was busy for only {sum(ran) / 1e9:.1f} of {seconds} s')
    return ran[0] / ran[1]


def test():
    with guest.Steward():
        ratio = share(5, 8)
        guest.note(f'nice 0 to nice 5: {ratio:.3f}, expected {EXPECTED:.3f}')
        require(abs(ratio / EXPECTED - 1) <= 0.10, f'nice 0 to nice 5 is {ratio:.2f} to 1')
        ratio = share(0, 3)
        guest.note(f'nice 0 to nice 0: {ratio:.3f}')
        require(abs(ratio - 1) <= 0.10, f'two equal hogs share {ratio:.2f} to 1')
        # sched_ext rounds the weight 1.46 of nice 19 to 1, beside 100 for nice 0.
        ratio = share(19, 4)
        guest.note(f'nice 0 to nice 19: {ratio:.0f}')
        require(50 <= ratio <= 200, f'nice 0 to nice 19 is {ratio:.0f} to 1')
