/** The shared values that doctor names before they go, and the manual's chapter about what is in the way. */
import { expect, it } from "vitest";
import { leaving } from "../../bin/doctor/configuration.ts";
import { helpOf } from "../../bin/help.ts";
import { contextRow } from "../../daemon/views/messages.ts";
import type { ContextRow } from "../../protocol/schemas/context.ts";

const day = 24 * 60 * 60 * 1000;
const item = {
  ...{ project: "/p/.git", key: "port", value: 1, bytes: 1, from: null, node: "n", at: 0, version: 1 },
  ...{ durable: true, endsAt: null, usedAt: 0 },
};
const row = (key: string, leavesAt?: number): ContextRow =>
  contextRow({ ...item, key, ...(leavesAt === undefined ? {} : { leavesAt }) }, 0);

it("names the values that go, the next one first, and how to keep one", () => {
  expect(leaving([row("a"), row("b", 5 * day), row("c", 2 * day)])).toEqual([
    {
      check: "context",
      result: "warn",
      detail: "2 shared values that nobody used for long will go: c of /p in 2d, b of /p in 5d",
      todo: "to keep one, read it or set it again, such as: cd /p && kite context get c",
    },
  ]);
});

it("says nothing while all are used, and names ten at most", () => {
  expect(leaving([row("a")])).toEqual([]);
  const many = Array.from({ length: 14 }, (_, n) => row(`k${n}`, day));
  expect(leaving(many)[0]?.detail).toMatch(/^14 shared values .*, 4 more$/);
});

it.each(["in-my-way", "waiting"])("kite help %s shows the chapter", topic => {
  const text = helpOf(["help", topic], {}, 80);
  expect(text).toMatch(/^KITE IS IN MY WAY/);
  expect(text).toContain("kite explain --last");
  expect(text).toContain("kite doctor --bundle");
});
