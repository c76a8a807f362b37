import { expect, it } from "vitest";
import { count } from "../../daemon/requests/hook.ts";
import { limits } from "../../protocol/limits.ts";

it("counts hook events by name, and those of ever new names together", () => {
  const hooks = new Map([["Stop", 1]]);
  for (let i = 0; i < 2 * limits.hookKindsMax; i += 1) count(hooks, `new ${i}`);
  count(hooks, "Stop");
  expect(hooks.get("Stop")).toBe(2);
  expect(hooks.size).toBe(limits.hookKindsMax + 1);
  expect(hooks.get("others")).toBe(limits.hookKindsMax + 1);
});
