"""Calls of the device runtime's functions (printf, assert, malloc, free), which the host serves for a whole gang."""

from __future__ import annotations

from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.memory import Mask
from emulator.lowering.registers import RegisterFile
from emulator.lowering.sites import SiteTable
from emulator.syntax.nodes import Instruction

SERVICES = {"vprintf": 1, "__assertfail": 2, "malloc": 3, "free": 4}
_MOST_ARGUMENTS = 5


class ServiceLowering:
    """Stores the arguments as i64 vectors and calls `service(ctx, tls, number, site, mask, arguments)`.

    Results come back in the first vector; a service that returns 0 has recorded a fault.
    """

    def __init__(self, emitter: Emitter, registers: RegisterFile, sites: SiteTable) -> None:
        self.emitter = emitter
        self.registers = registers
        self.sites = sites

    def call(self, instruction: Instruction, mask: Mask) -> Value | None:
        assert instruction.call is not None
        emitter, width = self.emitter, self.emitter.width
        number = SERVICES[instruction.call.callee]
        site = self.sites.add(instruction, "generic", "read")
        buffer = emitter.temporary("i64", width * _MOST_ARGUMENTS, tag=7)
        for index, argument in enumerate(instruction.call.arguments[:_MOST_ARGUMENTS]):
            value = self.registers.value(self.registers.read_operand(argument, "i64"))
            vector = emitter.lanes.splat(self.registers.convert(value, "i64"))
            place = emitter.put(f"getelementptr i8, ptr {buffer}, i64 {8 * width * index}")
            emitter.emit(f"store {vector}, ptr {place}, align 64")
        slot = emitter.put(f"getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_SERVICE}")
        function = emitter.put(f"load ptr, ptr {slot}")
        served = emitter.put(
            f"call i32 {function}(ptr %ctx, ptr %tls, i32 {number}, i32 {site}, i32 {mask.word}, ptr {buffer})"
        )
        ok = emitter.put(f"icmp ne i32 {served}, 0")
        after = emitter.new_label("served")
        emitter.branch_if(ok, after, "faulted", LIKELY)
        emitter.place(after)
        if not instruction.call.results:
            return None
        return emitter.value(f"load <{width} x i64>, ptr {buffer}, align 64", "i64", width)
