/** Recorded events of a client, as the daemon gets them. */
import { readdirSync, readFileSync } from "node:fs";
import { hookSchema } from "../../protocol/schemas/hook.ts";
import type { Payload } from "./hook-events.ts";

const folderOf = (client: string) => new URL(`../fixtures/${client}/`, import.meta.url);

/** One recorded payload. */
export function payloadOf(client: string, name: string): Payload {
  const text = readFileSync(new URL(`${name}.json`, folderOf(client)), "utf8");
  return hookSchema.parse({ event: JSON.parse(text) }).event;
}

/** Every recorded event that names itself, those of the sequences included. */
export function recordedOf(client: string): { readonly name: string; readonly event: Payload }[] {
  return readdirSync(folderOf(client))
    .flatMap(name => {
      const text = readFileSync(new URL(name, folderOf(client)), "utf8");
      if (name.endsWith(".json")) return [{ name, event: JSON.parse(text) as Payload }];
      return text
        .trim()
        .split("\n")
        .map((line, i) => ({ name: `${name}:${i + 1}`, event: JSON.parse(line).payload as Payload }));
    })
    .filter(({ event }) => "hook_event_name" in event);
}
