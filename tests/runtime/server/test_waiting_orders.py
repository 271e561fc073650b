"""When what nobody claims is ordered again."""

from harness.running import compiled
from noetl.app.programs import program_of
from noetl.engine.decide import decide
from noetl.engine.execution import Execution
from noetl.engine.starting import Request, start
from noetl.engine.turn import Turn
from noetl.server.waiting_orders import WaitingOrders


def test_it_is_ordered_again_ever_later_but_never_much_later() -> None:
    program = program_of(compiled("workflow:\n  - {step: start, tool: {kind: noop}}\n"))
    execution = Execution("e", program)
    turn = Turn(program, execution, 0)
    start(turn, Request({}))
    decide(turn)
    waiting = WaitingOrders()
    again = [look for look in range(41) if waiting.keys_again(execution)]
    assert again == [1, 2, 4, 8, 16, 24, 32, 40]
