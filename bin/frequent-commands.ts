/** Commands that agents and people call often; they are built into one file, too. */
import type { Entry } from "./entry.ts";

export const lock: Entry = {
  description: "hold files while a command runs",
  load: () => import("./commands/lock.ts"),
  acts: true,
};

export const status: Entry = {
  description: "show who is at work, who holds and who waits for what",
  load: () => import("./commands/status.ts"),
  readsSession: true,
};

export const task: Entry = {
  description: "plan work: tasks that sessions claim, finish and build on",
  load: () => import("./tasks/task.ts"),
  acts: true,
};
