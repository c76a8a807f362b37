import { describe, expect, test } from "vitest";
import type { FileToKeep, KeepOutcome } from "../../daemon/rescue/keep.ts";
import { KeepQueue } from "../../daemon/rescue/keep.ts";
import { limits } from "../../protocol/limits.ts";

/** A keeper that notes what it is asked, and answers when the test says so. */
class Notes {
  readonly kept: string[] = [];
  readonly missed: string[] = [];
  readonly written = new Set<string>();
  readonly #answers: ((outcome: KeepOutcome) => void)[] = [];
  readonly queue = new KeepQueue({
    keeper: {
      keep: async (asked, isOvertaken) => {
        const outcome = await new Promise<KeepOutcome>(resolve => void this.#answers.push(resolve));
        const how = isOvertaken(asked.atMs + 1) && asked.text !== null ? "sent" : "read";
        this.kept.push(`${how} ${asked.path} ${asked.atMs}`);
        return outcome;
      },
      keepSent: async asked => {
        this.kept.push(`sent ${asked.path} ${asked.atMs}`);
        return { is: "nothing" };
      },
    },
    isWritten: ({ key }) => this.written.has(key),
    onMissed: ({ path }, why) => this.missed.push(`${path}: ${why}`),
  });

  /** Lets the oldest read end. */
  async answer(outcome: KeepOutcome = { is: "nothing" }): Promise<void> {
    this.#answers.shift()?.(outcome);
    await new Promise<void>(resolve => setImmediate(resolve));
  }
}

function write(path: string, atMs: number, text: string | null = null): FileToKeep {
  const sent = text === null ? null : { chars: text.length, text: () => text };
  const rest = { by: null, tool: "Write", kind: "write", isEdit: true, session: null } as const;
  return { path, key: path, atMs, text: sent, ...rest };
}

describe("the queue of writes", () => {
  test("reads two files at once, and keeps the writes of one file in their order", async () => {
    const notes = new Notes();
    for (const path of ["a", "b", "c"]) notes.queue.add(write(path, 1));
    expect(notes.queue.size).toBe(3);
    for (let i = 0; i < 3; i += 1) await notes.answer();
    expect(notes.kept).toEqual(["read a 1", "read b 1", "read c 1"]);
    expect(notes.queue.size).toBe(0);
    await notes.queue.settled();
  });

  test("keeps the text of a write that another one overtook before it was read", async () => {
    const notes = new Notes();
    notes.queue.add(write("a", 1, "one"));
    // The first is being read.
    notes.queue.add(write("a", 2, "two"));
    notes.queue.add(write("a", 3));
    notes.queue.add(write("a", 4, "four"));
    await notes.answer();
    await notes.answer();
    // Of the third nobody knows the text: the fourth has what it changed.
    expect(notes.kept).toEqual(["sent a 1", "sent a 2", "read a 4"]);
  });

  test("keeps the text where another write is under way and has changed the file", async () => {
    const notes = new Notes();
    notes.written.add("a");
    notes.queue.add(write("a", 1, "one"));
    await notes.answer();
    expect(notes.kept).toEqual(["sent a 1"]);
  });

  test("has bounds: the oldest write is missed, and texts that take too much room are forgotten", async () => {
    const notes = new Notes();
    for (let n = 0; n < limits.rescueQueueMax + 5; n += 1) notes.queue.add(write(`${n}`, n));
    // Two of them are being read.
    expect(notes.queue.missed).toBe(3);
    expect(notes.missed[0]).toBe("2: too many writes wait to be kept");
    const other = new Notes();
    const long = { chars: limits.rescueQueueBytes, text: () => "long" };
    other.queue.add(write("x", 1));
    other.queue.add(write("y", 1));
    other.queue.add({ ...write("a", 1), text: long });
    other.queue.add(write("b", 1, "short"));
    other.written.add("a");
    other.written.add("b");
    for (let i = 0; i < 4; i += 1) await other.answer();
    expect(other.kept.slice(2)).toEqual(["sent a 1", "read b 1"]);
  });

  test("counts what should have been kept and was not", async () => {
    const notes = new Notes();
    notes.queue.add(write("a", 1));
    await notes.answer({ is: "missed", why: "the disk is full" });
    expect(notes.missed).toEqual(["a: the disk is full"]);
    expect(notes.queue.missed).toBe(1);
  });

  test("takes nothing more when it is closed", async () => {
    const notes = new Notes();
    await notes.queue.close();
    notes.queue.add(write("a", 1));
    expect(notes.queue.size).toBe(0);
  });
});
