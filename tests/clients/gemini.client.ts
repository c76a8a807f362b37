import { describe, expect, test } from "vitest";
import { Moment } from "../claude/script.ts";
import { gemini } from "./gemini.ts";
import type { Turn } from "./model.ts";
import { eachWorld, endsWell, scenes } from "./scenes.ts";
import { ClientSession } from "./session.ts";

describe("the real Gemini CLI", () => scenes(gemini));

describe("two sessions of the real Gemini CLI", () => {
  const world = eachWorld();

  test("a write of the whole file loses no lines of the other: it is denied once, with who wrote them", async () => {
    await world().up();
    const writes = new Moment();
    const call = (id: string, name: string, input: Readonly<Record<string, unknown>>): Turn => ({
      calls: [{ id, name, input: { file_path: world().path("a.ts"), ...input } }],
    });
    const first = await ClientSession.start(gemini, world(), "first", [
      call("c1", "read_file", {}),
      writes.before(call("c2", "write_file", { content: "one\ntwo\nfirst\n" })),
      call("c3", "read_file", {}),
      call("c4", "write_file", { content: "one\ntwo\nTHREE\nfirst\n" }),
      { say: "Done." },
    ]);
    await first.model.asked(2);
    const edit = gemini.edit("d1", world().path("a.ts"), "three", "THREE");
    const second = await ClientSession.start(gemini, world(), "second", [
      { calls: [edit] },
      { say: "Done." },
    ]);
    await endsWell(second);
    writes.reached();
    await endsWell(first);
    expect(first.model.result("c2")).toContain(`${gemini.deniedBy}Kite: this write_file did not run: `);
    expect(first.model.result("c3")).toContain("THREE");
    expect(world().read("a.ts")).toBe("one\ntwo\nTHREE\nfirst\n");
  });
});
