/** What a person reads of a copy to or from a store. */
import { expect, it } from "vitest";
import { noteLines } from "../../bin/store/share.ts";
import { replyOf } from "../../daemon/sharing/requests.ts";
import { storeRowsMax } from "../../protocol/schemas/store.ts";

const nothing = {
  ...{ tasks: 0, context: 0, numbers: [], keys: [], released: [] },
  ...{ leftOut: [], returns: [] },
};

it("names what is left out with the key of its text, and what came back, each with what to do", () => {
  const kept = ["task/2/description@laptop", "task/2/result@laptop"];
  const leftOut = [
    { task: "t-1", number: 2, fields: ["description", "status"] as const, kept },
    { task: "t-2", number: 3, fields: ["priority"] as const },
  ];
  const returns = [{ task: "t-4", number: 5 }, { key: "port" }];
  expect(noteLines({ ...nothing, leftOut, returns })).toEqual([
    "Changed here, and not taken over, since the store changed it too or refused it: #2 (description, status; yours is kept as task/2/description@laptop, task/2/result@laptop), #3 (priority). Look at them: kite task show NUMBER, kite context get KEY",
    "The store did not have these any more, and Kite brought them back: #5, key port. If somebody removed them on purpose, do so again: kite task cancel NUMBER, kite context rm KEY",
  ]);
  expect(noteLines(nothing)).toEqual([]);
});

it("names the project of each new number where a leave brought several back", () => {
  const numbers = [
    { task: "t-1", before: 1, after: 3 },
    { task: "t-2", before: 2, after: 4 },
  ];
  expect(noteLines({ ...nothing, numbers })).toEqual([
    "Tasks with another number: #1 is #3 now, #2 is #4 now.",
  ]);
  const [one, two] = ["team/shop", "team/solo"];
  const of = numbers.map((row, i) => ({ ...row, project: i === 0 ? one : two }));
  expect(
    noteLines({ ...nothing, numbers: [...of, { task: "t-3", before: 6, after: 5, project: one }] }),
  ).toEqual([
    "Tasks with another number in team/shop: #1 is #3 now, #6 is #5 now.",
    "Tasks with another number in team/solo: #2 is #4 now.",
  ]);
});

it("names ten of many, and counts all others, also those that no reply has", () => {
  const returns = Array.from({ length: storeRowsMax + 7 }, (_, i) => ({ key: `k${i}` }));
  const released = returns.slice(0, storeRowsMax).map(({ key }) => key);
  const reply = replyOf({ ...nothing, returns, released });
  expect(reply).toMatchObject({ more: { returns: 7 }, returns: { length: storeRowsMax } });
  expect(replyOf(nothing)).toEqual(nothing);
  expect(noteLines(reply)).toEqual([
    "Your agents work on these no longer: k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, 90 more.",
    expect.stringContaining("brought them back: key k0, "),
  ]);
  expect(noteLines(reply)[1]).toContain(", key k9, 97 more. If somebody");
});
