/** Runs before each test file: measures the file's processor time, and keeps what its daemons left if a test fails. */
import { readFileSync } from "node:fs";
import { afterAll } from "vitest";
import { endLeftBehind } from "./left-behind.ts";

declare module "vitest" {
  interface TaskMeta {
    /** The processor time of the file's process, and of the children that it waited for, in milliseconds. */
    processorMs?: number;
  }
}

const began = processorMs();

// biome-ignore lint/correctness/noEmptyPattern: the runner reads the names of fixtures from the pattern
afterAll(({}, suite) => {
  suite.meta.processorMs = processorMs() - began;
  const { file } = suite;
  endLeftBehind(file.filepath, hasFailed(file.tasks));
});

/** Linux counts a child once it was waited for, its own children included; other systems tell of this process alone. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenMs();
}

function childrenMs(): number {
  if (process.platform !== "linux") return 0;
  const text = readFileSync("/proc/self/stat", "utf8");
  // The name of the program may hold spaces and brackets; fields count from behind it. A tick is 10 ms.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

interface Run {
  readonly result?: { readonly state: string } | undefined;
  readonly tasks?: readonly Run[];
}

function hasFailed(tasks: readonly Run[]): boolean {
  return tasks.some(({ result, tasks: inner = [] }) => result?.state === "fail" || hasFailed(inner));
}
