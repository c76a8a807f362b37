import { describe, expect, test } from "vitest";
import { Moment } from "../claude/script.ts";
import { copilot } from "./copilot.ts";
import type { Turn } from "./model.ts";
import { eachWorld, endsWell, holderOf, idOf, scenes } from "./scenes.ts";
import { ClientSession } from "./session.ts";

describe("the real Copilot", () => scenes(copilot));

describe("two sessions of the real Copilot", () => {
  const world = eachWorld();

  /** It asks about all edits of a message before it makes the first. */
  const edits = (from: string, to: string, ...files: readonly string[]): Turn => ({
    calls: files.map(file => copilot.edit(`edit ${file}`, world().path(file), from, to)),
  });

  test("whose messages ask for what the other holds: whoever closes the cycle is refused, in words", async () => {
    const watch = await world().up();
    const holder = await holderOf(world(), true, "b.ts");
    const [one, other] = [new Moment(), new Moment()];
    const start = (name: string, turn: Promise<Turn>) =>
      ClientSession.start(copilot, world(), name, [turn, { say: "Done." }]);
    const first = await start("first", one.before(edits("one", "ONE", "a.ts", "b.ts", "c.ts")));
    await first.model.asked(1);
    const firstId = await idOf(world(), copilot);
    const second = await start("second", other.before(edits("three", "THREE", "c.ts", "a.ts")));
    await second.model.asked(1);
    const secondId = await idOf(world(), copilot, firstId);
    // The first holds a.ts and waits for b.ts; the second holds c.ts and waits for a.ts; then the first asks for c.ts.
    one.reached();
    await watch.queued(firstId);
    other.reached();
    await watch.queued(secondId);
    await holder.request("file_unlock", { id: "holder", file: world().path("b.ts") });
    await Promise.all([endsWell(first), endsWell(second)]);
    holder.close();
    expect(first.model.result("edit c.ts")).toContain("would close a cycle of waits");
    expect(first.model.result("edit c.ts")).toContain("Make one edit a message");
    expect(world().read("a.ts")).toBe("ONE\ntwo\nTHREE\n");
    expect(world().read("b.ts")).toBe("ONE\ntwo\nthree\n");
    expect(world().read("c.ts")).toBe("one\ntwo\nTHREE\n");
    expect(await world().status()).toMatchObject({ locks: [] });
  });
});
