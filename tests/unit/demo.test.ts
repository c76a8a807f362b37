import { describe, expect, it } from "vitest";
import { type Act, kept, lineOf, stashed, waits } from "../../bin/commands/demo.ts";
import type { EventLine } from "../../protocol/events.ts";

const of = (name: string) => ({ id: name, name, agent: null });
const file = (name: string) => ({ files: [name], paths: [`/shop/${name}`] });

function granted(who: string, name: string, waitedMs: number): EventLine {
  return { event: "lock_granted", ...file(name), holder: of(who), waitedMs } as unknown as EventLine;
}

function released(who: string, name: string, cause: string): EventLine {
  return { event: "lock_released", ...file(name), holder: of(who), cause } as unknown as EventLine;
}

const act = (who: string, name: string, allowed = true): Act => ({ who, file: name, allowed });

describe("the end of the demo", () => {
  it("says who waited for what, and why it was free: as the events say, not as the script does", () => {
    const events = [
      granted("ada", "cart.ts", 0),
      granted("cleo", "price.ts", 0),
      released("cleo", "price.ts", "yielded"),
      released("ada", "cart.ts", "turn ended"),
      granted("ben", "cart.ts", 2_000),
      granted("dan", "price.ts", 4_000),
      released("ben", "cart.ts", "anchor_gone"),
      granted("ada", "cart.ts", 1_000),
      released("ada", "cart.ts", "revoked"),
      granted("cleo", "cart.ts", 3_000),
    ];
    expect(waits([act("dan", "price.ts", false)], events)).toEqual([
      "ben waited 2s for cart.ts and got it when ada's turn had ended.",
      "dan waited 4s for price.ts and got it when cleo did not edit it any more.",
      "ada waited 1s for cart.ts and got it when ben's process was gone.",
      "cleo waited 3s for cart.ts and got it when ada released it (revoked).",
      "Kite refused dan's edit of price.ts.",
    ]);
  });

  it("says whose edits git stash would have taken, or that it ran", () => {
    const acts = [
      act("dan", "price.ts"),
      act("cleo", "price.ts"),
      act("ada", "cart.ts"),
      act("ben", "cart.ts", false),
    ];
    expect(stashed({ acts, stash: { who: "cleo", allowed: false } })).toBe(
      "Kite did not let cleo's git stash run: it would have taken the edits of ada and dan out of the checkout.",
    );
    expect(stashed({ acts, stash: { who: "cleo", allowed: true } })).toBe("cleo's git stash ran.");
  });

  it("counts the edits that are in the files, and says which are not", () => {
    const acts = [
      act("ada", "cart.ts"),
      act("ada", "cart.ts"),
      act("ben", "cart.ts"),
      act("ben", "price.ts", false),
    ];
    const text = (...who: string[]) => ["begin", ...who.map(lineOf), "end", ""].join("\n");
    const found = (...who: string[]) =>
      kept(
        acts,
        new Map([
          ["cart.ts", text(...who)],
          ["price.ts", text()],
        ]),
      );
    expect(found("ada", "ben", "ada")).toBe(
      "3 edits were made and 1 refused; every edit made is in its file.",
    );
    expect(found("ada", "ada")).toBe("3 edits were made and 1 refused; cart.ts has 0 of 1 edits of ben.");
  });
});
