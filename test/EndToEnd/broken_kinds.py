"""The kinds of broken bundles: each changes a proved one, and says what the proof
has to name. `BASES` are what they are made from: a model on dp, pp and tp, one whose
stages come back on a V, and a function with a loop around an exchange."""

from bundle_tables import READ, RECEIVE, RUN, SCRATCH, SEND, WRITE

PROLOGUE, FORWARD, BACKWARD, REDUCE, UPDATE = 0, 1, 4, 5, 6
F32, I32, I64, I1, C64 = 0, 4, 5, 6, 13
KINDS = {}  # name: (base, function)


def kind(base):
    def add(function):
        KINDS[function.__name__.replace("_", "-")] = (base, function)
        return function
    return add


def place(body, number, role=0):
    return f"role {role}, '{body.name}', instruction {number} ("


def in_scratch(number):
    return lambda body, instruction: instruction.operands[number].buffer == SCRATCH


def in_buffer(number):
    return lambda body, instruction: (
        instruction.num_operands > number and
        instruction.operands[number].buffer != SCRATCH)


def at(instruction):
    return f"at {instruction.location}" if instruction.location else ""


# ------------------------------------------------------------------------------
# Operands

@kind("model")
def operand_behind_its_buffer(b):
    body, number, gemm = b.roles[0].find("gemm", in_buffer(1))
    gemm.operands[1].offset = 1 << 40
    return ["tables: " + place(body, number), "has operand 1 at bytes [",
            b.roles[0].buffers[gemm.operands[1].buffer].name, at(gemm)]


@kind("model")
def operand_behind_the_scratch_region(b):
    body, number, gemm = b.roles[1].find("gemm", in_scratch(2))
    gemm.operands[2].offset = b.roles[1].table.scratch_bytes
    return ["tables: " + place(body, number, 1), "of the scratch region", at(gemm)]


@kind("model")
def operand_in_no_buffer(b):
    body, number, gemm = b.roles[0].find("gemm", in_buffer(0))
    gemm.operands[0].buffer = 9999
    return ["tables: " + place(body, number), "has operand 0 in buffer 9999 of"]


@kind("model")
def read_stated_as_a_write(b):
    body, number, gemm = b.roles[0].find("gemm")
    gemm.operands[0].access = WRITE
    return ["tables: " + place(body, number),
            "states a write of operand 0, but makes a read"]


@kind("model")
def operand_missing(b):
    body, number, gemm = b.roles[0].find("gemm")
    gemm.num_operands = 2
    return ["tables: " + place(body, number), "has 2 operands, not 3"]


@kind("model")
def product_reaches_behind_its_operand(b):
    role = b.roles[0]
    body, number, gemm = role.find("gemm", lambda body, i: role.descriptor(i).m > 1)
    role.descriptor(gemm).lda += 1000
    return ["tables: " + place(body, number), "elements of operand 0, which has"]


@kind("model")
def rows_of_a_product_overlap(b):
    role = b.roles[0]
    body, number, gemm = role.find("gemm", lambda body, i: role.descriptor(i).m > 1)
    role.descriptor(gemm).ldc = 1
    return ["overlap: " + place(body, number), "1 elements apart in operand 2"]


@kind("model")
def product_of_integers(b):
    role = b.roles[0]
    body, number, gemm = role.find("gemm")
    role.descriptor(gemm).dtype = I32
    return ["tables: " + place(body, number), "multiplies matrices of i32"]


@kind("model")
def product_over_its_operand(b):
    body, number, gemm = b.roles[0].find("gemm", lambda body, i: in_scratch(0)(body, i)
                                         and in_scratch(2)(body, i))
    gemm.operands[2].offset = gemm.operands[0].offset
    return ["overlap: " + place(body, number),
            "writes operand 2", "which overlaps operand 0", at(gemm)]


@kind("model")
def kernel_of_another_program(b):
    role = b.roles[0]
    body, number, kernel = role.find("kernel")
    _, _, gemm = role.find("gemm")
    role.image.set_pointer(kernel.address + 24, role.descriptor(gemm).address)
    return [f"tables: role 0: instruction {number} of '{body.name}' calls what is no "
            "kernel"]


@kind("model")
def opcode_unknown(b):
    body, number, gemm = b.roles[0].find("gemm")
    gemm.opcode = 77
    return ["tables: " + place(body, number), "has the unknown opcode 77"]


@kind("model")
def input_overwritten(b):
    role = b.roles[0]
    ids = role.buffer("input_ids")
    size = role.buffers[ids].bytes
    for body in role.bodies:
        if body.kind != FORWARD:
            continue
        for instruction in role.instructions(body):
            for operand in role.operands(instruction):
                if operand.access == WRITE and operand.bytes <= size:
                    operand.buffer, operand.offset = ids, 0
                    return ["overlap: role 0, '" + body.name,
                            "writes the input 'input_ids'", at(instruction)]
    raise LookupError("no small operand")


# ------------------------------------------------------------------------------
# Collectives

@kind("model")
def counts_that_differ_from_the_operand(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce")
    role.descriptor(reduce).counts[0].value += 1
    return ["tables: " + place(body, number), "all-reduce", "moves ",
            "but operand 0 has", at(reduce)]


@kind("model")
def wrong_type_of_a_collective(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce", in_scratch(0))
    role.descriptor(reduce).dtype = I64
    return ["tables: " + place(body, number), "elements of i64", at(reduce)]


@kind("model")
def wrong_type_of_a_buffer(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce", in_buffer(0))
    role.descriptor(reduce).dtype = I32
    return ["tables: " + place(body, number), "takes '" +
            role.buffers[reduce.operands[0].buffer].name + "', of f32, for i32"]


@kind("model")
def type_unknown(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce")
    role.descriptor(reduce).dtype = 99
    return ["tables: " + place(body, number), "has the unknown element type 99"]


@kind("model")
def reduction_unknown(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce")
    role.descriptor(reduce).reduction = 9
    return ["tables: " + place(body, number), "has the unknown reduction 9"]


@kind("model")
def sum_of_booleans(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce", in_scratch(0))
    role.descriptor(reduce).dtype = I1
    return ["tables: " + place(body, number), "sums booleans"]


@kind("model")
def largest_of_complex_numbers(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce", in_scratch(0))
    role.descriptor(reduce).dtype = C64
    role.descriptor(reduce).reduction = 1
    return ["tables: " + place(body, number), "takes the largest of complex"]


@kind("model")
def communicator_unknown(b):
    role = b.roles[0]
    body, number, reduce = role.find("all-reduce")
    role.descriptor(reduce).communicator = 50
    return ["tables: " + place(body, number), "uses communicator 50 of"]


@kind("model")
def communicator_over_micro_batches(b):
    role = b.roles[0]
    temporal = next(i for i, axis in enumerate(b.manifest["mesh"])
                    if axis["kind"] == "temporal")
    role.communicators[0].axes[0].value = temporal
    return ["tables: role 0: communicator '", "names the temporal axis 'mb'"]


@kind("model")
def communicator_over_an_axis_that_is_not(b):
    b.roles[0].communicators[0].axes[0].value = 17
    return ["tables: role 0: communicator '", "names axis 17 of"]


@kind("model")
def collective_of_the_wrong_group(b):
    """The roles meet on the communicator of one role's ranks: their collectives
    there are not the same."""
    stage = next(i for i, axis in enumerate(b.manifest["mesh"])
                 if axis["kind"] == "stage")
    for role in b.roles:
        tensor = next(i for i, axis in enumerate(b.manifest["mesh"])
                      if axis["name"] == "tp")
        for communicator in role.communicators:
            for i in range(communicator.num_axes):
                if communicator.axes[i].value == tensor:
                    communicator.axes[i].value = stage
    return ["collective: ", " over ", "'pp'", "role 0, '", "role 1, '"]


@kind("model")
def collective_on_one_role_only(b):
    stage = next(i for i, axis in enumerate(b.manifest["mesh"])
                 if axis["kind"] == "stage")
    b.roles[1].communicators[0].axes[0].value = stage
    return ["collective: role 1, '", "is met by no other of role 0, which comes to 0"]


@kind("gathered")
def group_too_small_for_the_pieces(b):
    role = b.roles[0]
    body, number, gather = role.find("all-gather")
    role.communicators[role.descriptor(gather).communicator].num_axes = 0
    return ["tables: " + place(body, number), "has rows of", "are not all"]


@kind("gathered")
def block_inside_of_the_whole(b):
    body, number, gather = b.roles[0].find("all-gather")
    gather.operands[0].buffer = gather.operands[1].buffer
    gather.operands[0].offset = gather.operands[1].offset
    return ["overlap: " + place(body, number), "while other ranks reach it",
            at(gather)]


# ------------------------------------------------------------------------------
# Values in a body

@kind("model")
def scratch_read_before_it_is_written(b):
    """Two instructions in the wrong order."""
    role = b.roles[0]
    body = role.body(FORWARD)
    instructions = role.instructions(body)
    for i, first in enumerate(instructions[:-1]):
        written = [(o.offset, o.buffer) for o in role.operands(first)
                   if o.access & WRITE and o.buffer == SCRATCH]
        reads = [(o.offset, o.buffer) for o in role.operands(instructions[i + 1])
                 if o.access & READ]
        if i > 3 or not set(written) & set(reads):
            continue
        first.swap(instructions[i + 1])
        return ["undefined: " + place(body, i), "of the scratch region, which "
                "nothing before it has written", at(instructions[i])]
    raise LookupError("no pair")


@kind("model")
def scratch_written_elsewhere(b):
    """A value is not where it is read."""
    role = b.roles[1]
    body, number, gemm = role.find("gemm", lambda body, i: body.kind == FORWARD and
                                   in_scratch(2)(body, i))
    top = role.table.scratch_bytes
    gemm.operands[2].offset = top // 64 * 64
    role.table.scratch_bytes += gemm.operands[2].bytes + 64
    role.table.arena_bytes += gemm.operands[2].bytes + 64
    role.info["arena_bytes"] = role.table.arena_bytes
    return ["undefined: role 1, '" + body.name, "of the scratch region"]


@kind("function")
def jump_out_of_the_body(b):
    role = b.roles[0]
    body, number, jump = role.find("jump")
    role.descriptor(jump).targets[0].value = body.num_instructions + 1
    return ["tables: " + place(body, number), "goes to instruction "]


@kind("function")
def loop_without_an_end(b):
    role = b.roles[0]
    body, number, switch = role.find("switch")
    for i in range(role.descriptor(switch).num_targets):
        role.descriptor(switch).targets[i].value = number
    return ["cycle: " + place(body, number).rsplit(",", 1)[0],
            "is in a loop that has no way out"]


@kind("function")
def choice_by_a_float(b):
    role = b.roles[0]
    body, number, switch = role.find("switch")
    role.descriptor(switch).dtype = F32
    return ["tables: " + place(body, number), "chooses by a f32, not an i1 or i32"]


@kind("function")
def condition_that_differs_between_ranks(b):
    """The loop's trips are counted by what each rank has of the argument."""
    role = b.roles[0]
    replicated, cut = role.buffer("arg1"), role.buffer("arg0")
    for body in role.bodies:
        for instruction in role.instructions(body):
            for operand in role.operands(instruction):
                if operand.buffer == replicated:
                    operand.buffer = cut
    return ["condition: role 0, '", "all-reduce",
            "may differ between the ranks along 'dp', which meet there"]


@kind("function")
def condition_of_a_cut_argument(b):
    info = next(buffer for buffer in b.roles[0].info["buffers"]
                if buffer["name"] == "arg1")
    info["global_shape"], info["local_shape"] = [2], [1]
    info["sharding"] = [["dp"]]
    return ["condition: role 0, '", "may differ between the ranks along 'dp'"]


# ------------------------------------------------------------------------------
# Memory

@kind("model")
def buffers_that_overlap(b):
    role = b.roles[0]
    first, second = [i for i, info in enumerate(role.info["buffers"])
                     if info["kind"] == "state"][:2]
    role.buffers[second].offset = role.buffers[first].offset + 4
    return ["overlap: role 0: buffer '" + role.buffers[second].name + "'",
            "overlaps '" + role.buffers[first].name + "'"]


@kind("model")
def two_names_of_one_weight(b):
    role = b.roles[0]
    states = [i for i, info in enumerate(role.info["buffers"])
              if info["kind"] == "state"]
    first, second = next((i, j) for i in states for j in states
                         if i < j and role.buffers[i].bytes == role.buffers[j].bytes)
    role.buffers[second].offset = role.buffers[first].offset
    return ["overlap: role 0: buffer '" + role.buffers[second].name + "'"]


@kind("model")
def buffer_in_the_scratch_region(b):
    role = b.roles[0]
    small = next(i for i, info in enumerate(role.info["buffers"])
                 if info["kind"] == "state" and
                 info["bytes"] <= role.table.scratch_bytes)
    role.buffers[small].offset = role.table.scratch_offset
    return ["overlap: role 0: buffer '" + role.buffers[small].name + "'",
            "overlaps the scratch region"]


@kind("model")
def buffer_behind_the_arena(b):
    role = b.roles[0]
    role.buffers[2].offset = role.table.arena_bytes
    return ["tables: role 0: buffer '" + role.buffers[2].name + "' ends at byte"]


@kind("model")
def arena_larger_than_is_stated(b):
    b.roles[0].table.arena_bytes += 64
    return ["tables: role 0: has an arena of"]


@kind("model")
def arena_too_small(b):
    b.roles[0].table.arena_bytes -= 4096
    return ["tables: role 0: ", "of an arena of"]


@kind("model")
def memory_over_the_limit(b):
    b.manifest["memory_limit"] = b.roles[0].table.arena_bytes
    return ["memory: a rank of role 0 needs ", "arena ",
            "matrices packed by oneDNN", "transfers under way"]


def saved_activation(role):
    """A buffer of several slots that a forward leaves for its backward."""
    return next(i for i, info in enumerate(role.info["buffers"])
                if info["kind"] == "activation" and info["slots"] > 1)


@kind("model")
def slots_that_overlap(b):
    role = b.roles[0]
    number = saved_activation(role)
    role.buffers[number].slot_stride = 0
    return ["overlap: role 0: the slots of '" + role.buffers[number].name + "'"]


@kind("model")
def slots_too_few(b):
    """The next micro-batch takes the place of one that is still needed."""
    role = b.roles[0]
    number = saved_activation(role)
    role.buffers[number].slots -= 1
    role.info["buffers"][number]["slots"] -= 1
    return ["stale: role 0, action ", "reads '" + role.buffers[number].name +
            "' of micro-batch", "holds micro-batch"]


@kind("v")
def slots_too_few_on_a_v(b):
    role = b.roles[0]
    number = saved_activation(role)
    role.buffers[number].slots -= 1
    role.info["buffers"][number]["slots"] -= 1
    return ["stale: role 0, action ", "'" + role.buffers[number].name +
            "' of micro-batch", "holds micro-batch"]


@kind("model")
def value_in_the_place_of_another(b):
    """Two activations that are needed at the same time share their bytes."""
    role = b.roles[0]
    active = [i for i, info in enumerate(role.info["buffers"])
              if info["kind"] == "activation"]
    together = {(a.buffer, c.buffer) for body in role.bodies
                for instruction in role.instructions(body)
                for a in role.operands(instruction)
                for c in role.operands(instruction)}
    for i in active:
        for j in active:
            a, c = role.buffers[i], role.buffers[j]
            if (i < j and (i, j) not in together and
                    (a.bytes, a.slots) == (c.bytes, c.slots)):
                c.offset = a.offset
                return ["stale: role 0, action ", "was put in its place at byte"]
    raise LookupError("no two activations")


@kind("model")
def input_with_too_few_slots(b):
    role = b.roles[0]
    ids = role.buffer("input_ids")
    role.buffers[ids].slots = 1
    role.info["buffers"][ids]["slots"] = 1
    return ["tables: role 0: the input 'input_ids' has 1 slots for its 4"]


@kind("model")
def manifest_of_other_buffers(b):
    b.roles[0].info["buffers"][0]["name"] = "another"
    return ["tables: role 0: buffer 0 is '", "but in the manifest 'another'"]


# ------------------------------------------------------------------------------
# Actions

def runs(role, fragment):
    return [i for i, action in enumerate(role.actions)
            if action.kind == RUN and role.bodies[action.index].kind == fragment]


@kind("model")
def action_missing(b):
    role = b.roles[0]
    role.remove_action(runs(role, UPDATE)[0])
    return ["schedule: role 0: no action runs '", "update' of micro-batch 0"]


@kind("model")
def action_twice(b):
    role = b.roles[0]
    first, second = runs(role, FORWARD)[:2]
    role.actions[second].micro_batch = role.actions[first].micro_batch
    return [f"schedule: role 0, action {second}: '", "runs a second time"]


@kind("model")
def micro_batch_that_is_not(b):
    role = b.roles[0]
    second = runs(role, FORWARD)[1]
    role.actions[second].micro_batch = 4
    return [f"schedule: role 0: action {second} is on micro-batch 4 of 4"]


@kind("model")
def wrong_micro_batch(b):
    """Two runs of a backward have each other's micro-batch."""
    role = b.roles[1]
    first, second = runs(role, BACKWARD)[:2]
    a, c = role.actions[first], role.actions[second]
    a.micro_batch, c.micro_batch = c.micro_batch, a.micro_batch
    return [f"schedule: role 1, action {first}: '", "runs before '",
            "forward' of that micro-batch"]


@kind("model")
def backward_before_forward(b):
    role = b.roles[1]
    role.actions[runs(role, FORWARD)[0]].swap(role.actions[runs(role, BACKWARD)[0]])
    return ["schedule: role 1, action ", "runs before '", "forward' of that"]


@kind("model")
def update_before_the_last_micro_batch(b):
    role = b.roles[0]
    update = runs(role, UPDATE)[0]
    role.move_action(update, runs(role, BACKWARD)[-1])
    return ["schedule: role 0, action ", "runs before "]


@kind("model")
def once_a_step_for_a_micro_batch(b):
    role = b.roles[0]
    update = runs(role, UPDATE)[0]
    role.actions[update].micro_batch = 1
    return [f"schedule: role 0, action {update}: '", "which runs once a step"]


@kind("model")
def body_that_is_not(b):
    role = b.roles[0]
    role.actions[runs(role, FORWARD)[0]].index = 88
    return ["tables: role 0: action ", "runs body 88 of"]


@kind("model")
def action_of_no_kind(b):
    role = b.roles[0]
    role.actions[3].kind = 8
    return ["tables: role 0: action 3 has the unknown kind 8"]


# ------------------------------------------------------------------------------
# Transfers

def activation(role, transfer):
    """The buffer that a role sends or receives most often."""
    numbers = [action.index for action in role.actions if action.kind == transfer]
    return max(set(numbers), key=numbers.count)


def transfers(role, transfer):
    number = activation(role, transfer)
    return [i for i, action in enumerate(role.actions)
            if action.kind == transfer and action.index == number]


@kind("model")
def receive_missing(b):
    """A value is used that nothing has waited for."""
    role = b.roles[1]
    name = role.buffers[activation(role, RECEIVE)].name
    role.remove_action(transfers(role, RECEIVE)[0])
    return ["role 1, action ", f" '{name}' of micro-batch 0", "reads"]


@kind("model")
def send_missing(b):
    role = b.roles[0]
    name = role.buffers[activation(role, SEND)].name
    role.remove_action(transfers(role, SEND)[-1])
    return ["transfer: role 1, action ", f"receive of '{name}'",
            "waits for what nobody sends"]


@kind("model")
def receives_of_equal_shape_swapped(b):
    """Two transfers of one edge arrive in the other order."""
    role = b.roles[1]
    first, second = transfers(role, RECEIVE)[:2]
    role.actions[first].micro_batch, role.actions[second].micro_batch = 1, 0
    return ["role 1, action ", "of micro-batch"]


@kind("early")
def transfers_of_equal_shape_swapped_on_one_edge(b):
    """Both arrive before either is used, so that only the order says which is
    which."""
    role = b.roles[1]
    first, second = transfers(role, RECEIVE)[:2]
    role.move_action(second, first + 1)
    role.actions[first].micro_batch, role.actions[first + 1].micro_batch = 1, 0
    return [f"transfer: role 1, action {first}: receive of '",
            "micro-batch 0 is sent where micro-batch 1 is received"]


@kind("model")
def send_before_its_value_is_computed(b):
    role = b.roles[0]
    send = transfers(role, SEND)[0]
    name = role.buffers[role.actions[send].index].name
    role.move_action(send, runs(role, FORWARD)[0])
    return ["undefined: role 0, action ", f"send of '{name}' of micro-batch 0",
            "moves bytes"]


@kind("model")
def wrong_channel(b):
    role = b.roles[1]
    role.actions[transfers(role, RECEIVE)[0]].channel = 77
    return ["transfer: role ", " on channel "]


@kind("model")
def wrong_peer(b):
    role = b.roles[0]
    role.actions[transfers(role, SEND)[0]].peer = 0
    return ["transfer: role 0, action ", "has the peer 0, which is not another"]


@kind("model")
def peer_that_is_not(b):
    role = b.roles[0]
    role.actions[transfers(role, SEND)[0]].peer = 5
    return ["transfer: role 0, action ", "has the peer 5, which is not another"]


@kind("model")
def wrong_buffer_is_sent(b):
    role = b.roles[0]
    number = activation(role, SEND)
    size = role.buffers[number].bytes
    other = next(i for i, info in enumerate(role.info["buffers"])
                 if i != number and info["kind"] == "activation" and
                 info["slots"] > 1 and info["bytes"] == size)
    for i in transfers(role, SEND):
        role.actions[i].index = other
    return [f"role 0, action ", f"'{role.buffers[other].name}'"]


@kind("model")
def buffer_that_is_not_is_sent(b):
    role = b.roles[0]
    role.actions[transfers(role, SEND)[0]].index = 9999
    return ["tables: role 0: action ", "moves buffer 9999 of"]


@kind("model")
def types_of_a_transfer_differ(b):
    role = b.roles[0]
    number = activation(role, SEND)
    role.buffers[number].dtype = I32
    role.info["buffers"][number]["dtype"] = "i32"
    return [f"'{role.buffers[number].name}'", "i32"]


@kind("early")
def cycle_of_waits(b):
    """A role waits for a gradient before it sends what that is made of."""
    role = b.roles[0]
    gradient = transfers(role, RECEIVE)[0]
    role.move_action(gradient, transfers(role, SEND)[0])
    return ["cycle: the roles wait for each other\n  role 0, action ",
            "waits for role 1\n  role 1, action ", "waits for role 0"]


@kind("tied")
def sum_sent_before_it_is_complete(b):
    """The gradient of a table that two stages have."""
    for number, role in enumerate(b.roles):
        for send in [i for i, a in enumerate(role.actions) if a.kind == SEND]:
            info = role.info["buffers"][role.actions[send].index]
            if info["kind"] != "activation" and any("mb" in d for d in
                                                     info["sharding"]) is False:
                last = max(runs(role, BACKWARD))
                if send < last:
                    continue
                role.move_action(send, last)
                return [f"schedule: role {number}, action {last}: send of '",
                        "before ", "have added to it"]
    raise LookupError("no sum is sent")


# ------------------------------------------------------------------------------
# The bundle

@kind("model")
def other_abi(b):
    b.roles[0].table.abi_version += 1
    return ["role_0.so' has ABI version"]


@kind("model")
def mesh_of_another_size(b):
    next(axis for axis in b.manifest["mesh"] if axis["name"] == "dp")["size"] = 4
    return ["tables: role 0: mesh axis ", "but in the manifest 'dp' of size 4"]


@kind("model")
def role_of_another_stage(b):
    b.manifest["roles"].reverse()
    return ["role 0"]


# ------------------------------------------------------------------------------
# Roles that meet on communicators

def sums(b, role):
    """The three sums of a role: over pp, over pp, over all ranks."""
    body = b.roles[role].bodies[0]
    return b.roles[role].instructions(body)[2:5]


@kind("meeting")
def swapped_collectives(b):
    first, second, _ = sums(b, 1)
    first.swap(second)
    return ["collective: number 0 over 'pp' is not the same on all: sequence 0 and 1",
            "\n  role 0, 'stage0_forward', instruction 2 (all-reduce at sum.first) of "
            "micro-batch 0",
            "\n  role 1, 'stage1_forward', instruction 2 (all-reduce at sum.second) of "
            "micro-batch 0"]


@kind("meeting")
def swapped_collectives_with_their_numbers(b):
    first, second, _ = sums(b, 1)
    first.swap(second)
    role = b.roles[1]
    role.descriptor(first).sequence, role.descriptor(second).sequence = 0, 1
    return ["collective: number 0 over 'pp' is not the same on all: count 8 and 4",
            "sum.first", "sum.second"]


@kind("meeting")
def cycle_through_two_communicators(b):
    first, second, both = sums(b, 1)
    second.swap(both)
    return ["cycle: the roles wait for each other",
            "role 0, action 0: 'stage0_forward' of micro-batch 0, ",
            "(all-reduce at sum.second) over 'pp' waits for role 1",
            "role 1, action 0: 'stage1_forward' of micro-batch 0, ",
            "(all-reduce at sum.both) over 'dp', 'pp' waits for role 0"]


@kind("meeting")
def wrong_reduction_on_one_role(b):
    b.roles[1].descriptor(sums(b, 1)[0]).reduction = 1
    return ["collective: number 0 over 'pp' is not the same on all: the sum and the "
            "max", "sum.first"]


@kind("meeting")
def counts_that_differ_between_roles(b):
    role = b.roles[1]
    second = sums(b, 1)[1]
    second.operands[0].bytes = 8
    role.descriptor(second).counts[0].value = 2
    return ["collective: number 1 over 'pp' is not the same on all: count 4 and 2",
            "sum.second"]


@kind("meeting")
def types_that_differ_between_roles(b):
    role = b.roles[0]
    role.buffers[0].dtype = I32
    role.info["buffers"][0]["dtype"] = "i32"
    role.descriptor(sums(b, 0)[0]).dtype = I32
    b.roles[0].bodies[0].num_instructions = 4
    return ["collective: number 0 over 'pp' is not the same on all: i32 and f32",
            "sum.first"]


@kind("meeting")
def collective_missing_on_one_role(b):
    b.roles[0].bodies[0].num_instructions = 4
    return ["collective: role 1, 'stage1_forward', instruction 4 (all-reduce at "
            "sum.both)", "is met by no other of role 0, which comes to 0"]


@kind("meeting")
def bucket_with_an_operand_twice(b):
    both = sums(b, 0)[2]
    both.operands[1].buffer = both.operands[0].buffer
    return ["overlap: role 0, 'stage0_forward', instruction 4 (all-reduce at "
            "sum.both) writes operand 0", "while other ranks reach it"]


@kind("meeting")
def collective_before_its_value(b):
    body = b.roles[1].bodies[0]
    instructions = b.roles[1].instructions(body)
    instructions[0].swap(instructions[2])
    return ["undefined: role 1, action 0: 'stage1_forward' of micro-batch 0, "
            "instruction 0 (all-reduce at sum.first) reads bytes [0, 32) of 'first'"]


@kind("meeting")
def axis_twice_in_a_communicator(b):
    axes = b.roles[0].communicators[1].axes
    axes[0].value = axes[1].value
    return ["tables: role 0: communicator 'dp,pp' names axis 'pp' twice"]


@kind("meeting")
def result_not_written(b):
    body = b.roles[0].bodies[0]
    body.num_instructions = 1
    return ["undefined: role 0: the output 'second' is not written whole"]
