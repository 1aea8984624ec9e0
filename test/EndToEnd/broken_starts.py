"""Kinds of broken bundles whose collectives go on beside what follows: they join those
of broken_kinds."""

from bundle_tables import OPCODES, RUN, SCRATCH
from broken_kinds import at, kind, place


def find_start(role, number=0):
    """The number-th start of a role: its body, its place there, and itself."""
    found = [(body, i, instruction) for body in role.bodies
             for i, instruction in enumerate(role.instructions(body))
             if instruction.opcode == OPCODES.index("all-reduce") and
             instruction.event]
    return found[number]


@kind("started")
def wait_before_the_start(b):
    role = b.roles[0]
    body, number, wait = role.find("wait")
    wait.event = 900
    return ["event: " + place(body, number), "waits for event 900, which is not on "
            "its way"]


@kind("started")
def wait_for_nothing(b):
    role = b.roles[0]
    body, number, wait = role.find("wait")
    wait.event = 0
    return ["event: " + place(body, number), "has event 0"]


@kind("started")
def event_of_two_starts(b):
    role = b.roles[0]
    first = find_start(role)[2]
    body, number, second = find_start(role, 1)
    second.event = first.event
    return ["event: " + place(body, number),
            f"starts event {first.event} a second time in the step"]


@kind("started")
def start_in_every_micro_batch(b):
    """The body of the last micro-batch is run for all of them."""
    role = b.roles[0]
    body, number, start = find_start(role)
    last = next(i for i, other in enumerate(role.bodies) if other.name == body.name)
    usual = next(i for i, other in enumerate(role.bodies)
                 if other.name + "_last" == body.name)
    for action in role.actions:
        if action.kind == RUN and action.index == usual:
            action.index = last
    return ["race: ", "which is on its way until event"]


@kind("started")
def gradient_read_while_it_is_summed(b):
    """The reduction begins behind its first wait."""
    role = b.roles[0]
    waiter, at_wait, wait = role.find("wait")
    event = wait.event
    body, number, start = next(
        found for found in map(lambda i: find_start(role, i), range(99))
        if found[2].event == event)
    waiter.instructions = waiter.instructions[at_wait + 1]
    waiter.num_instructions -= at_wait + 1
    return ["race: role 0, '", "touches '",
            f"which is on its way until event {event} is waited for; it was "
            "started by " + place(body, number), at(start)]


@kind("started")
def start_before_the_gradient_is_complete(b):
    role = b.roles[0]
    body, number, start = find_start(role)
    event = start.event
    body.instructions[number].swap(body.instructions[number - 1])
    return ["race: " + place(body, number), "touches '",
            f"which is on its way until event {event}"]


@kind("started")
def start_on_the_lane_of_waits(b):
    role = b.roles[0]
    body, number, start = find_start(role)
    waits = next(i for i, c in enumerate(role.communicators) if not c.lane)
    role.descriptor(start).communicator = waits
    return ["event: " + place(body, number), "is started on a communicator of lane 0"]


@kind("started")
def wait_on_the_lane_of_starts(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce", lambda body, i: not i.event)
    role.descriptor(reduce).communicator = next(
        i for i, c in enumerate(role.communicators) if c.lane)
    return ["event: " + place(body, number), "waits on a communicator of lane 1"]


@kind("started")
def start_with_scratch(b):
    role = b.roles[0]
    body, number, start = find_start(role)
    start.operands[0].buffer = SCRATCH
    start.operands[0].offset = 0
    return ["event: " + place(body, number), "starts with operand 0 in the scratch "
            "region"]


@kind("started")
def event_of_a_product(b):
    body, number, gemm = b.roles[0].find("gemm")
    gemm.event = 3
    return ["has event 3"]
