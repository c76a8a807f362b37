/** Recorded events of Codex. */
import { readdirSync, readFileSync } from "node:fs";
import { codex } from "../../hooks/clients/codex.ts";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { hookSchema } from "../../protocol/schemas/hook.ts";
import { context, type Payload } from "./hook-events.ts";

const folder = new URL("../fixtures/codex/", import.meta.url);

/** One recorded payload, as the daemon gets it. */
export function codexPayload(name: string): Payload {
  return hookSchema.parse({ event: JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) }).event;
}

/** Every recorded event, those of the sequences included. */
export function codexRecorded(): { readonly name: string; readonly event: Payload }[] {
  return readdirSync(folder).flatMap(name => {
    const text = readFileSync(new URL(name, folder), "utf8");
    if (name.endsWith(".json")) {
      const event = JSON.parse(text);
      return "hook_event_name" in event ? [{ name, event }] : [];
    }
    return text
      .trim()
      .split("\n")
      .map((line, i) => ({ name: `${name}:${i + 1}`, event: JSON.parse(line).payload }));
  });
}

export const codexPlan = (event: Payload, cx = context): HookPlan => codex.plan(event, cx);
