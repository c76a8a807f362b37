/** Whether a process makes progress, as far as the system tells. */
import { statFields } from "../../daemon/facts/process-table.ts";
import { textOf } from "./listener.ts";

/** What a process has done so far. */
export interface Work {
  /** Processor time in ticks of the system's clock. */
  readonly ticks: number;
  /** It waits for a disk, which no signal interrupts. */
  readonly isAtDisk: boolean;
}

/** Returns the work of a process; null if it is gone, or if the system does not tell, as outside of Linux. */
export function workOf(pid: number): Work | null {
  const fields = statFields(textOf(`/proc/${pid}/stat`));
  // Fields 14 and 15: the times in the program and in the kernel.
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isNaN(ticks) ? null : { ticks, isAtDisk: fields[0] === "D" };
}

/** Whether the process did anything in between; null if the system does not tell. */
export function hasWorked(before: Work | null, after: Work | null): boolean | null {
  if (before === null || after === null) return null;
  return after.ticks > before.ticks || before.isAtDisk || after.isAtDisk;
}
