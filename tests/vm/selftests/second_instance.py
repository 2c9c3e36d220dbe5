# SPDX-License-Identifier: GPL-2.0-only
"""A second instance is refused with a sentence and status 1, and the first does not notice."""
import guest
from guest import require


def test():
    with guest.Steward() as steward, guest.hogs(4):
        before = steward.stats()['passes']
        guest.refused(guest.command(guest.BINARY), 'already', 'running', 'another')
        guest.refused(guest.command(guest.BINARY, '--timer-cpu', 1), 'already', 'running', 'another')
        steward.require_alive()
        guest.time.sleep(1)
        require(steward.stats()['passes'] >= before, 'the statistics of the first went away')
        done = guest.control('stats', '--json')
        require(done.returncode == 0, f'the first no longer answers: {done.stdout}')
        require(guest.json.loads(done.stdout)['passes'] >= before, 'stewardctl shows other statistics')
