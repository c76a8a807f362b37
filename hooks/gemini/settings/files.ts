/** What the client's settings hold of Kite's: its hooks, and the server of its tools. */
import type { KitePaths } from "../../../protocol/paths.ts";
import type { ClientFile } from "../../install/hooks-file.ts";
import { addHooks, removeHooks } from "../../install/hooks-text.ts";
import { mcpPath } from "../../install/launcher.ts";
import { isOurs } from "../../install/ours.ts";
import { addServer, removeServer } from "../../install/server-text.ts";
import { geminiEntries } from "./entries.ts";
import { clientName, type Env, settingsFile } from "./where.ts";

const place = ["mcpServers"];

/** Returns what the settings shall hold, with the tools or without. */
export function settingsOf(paths: KitePaths, env: Env, hasTools: boolean): ClientFile {
  const { bin } = paths;
  const groups = geminiEntries(env["KITE_HOME"] ? bin : null);
  const isKites = (entry: unknown) => isOurs(entry, bin);
  const withoutTools = (text: string) => removeServer(text, place, bin, { from: 0, empty: null });
  return {
    paths,
    settings: settingsFile(env),
    client: clientName,
    shared: false,
    plan: (text, before) => {
      const hooked = addHooks(text, groups, isKites, before);
      const server = { command: mcpPath(bin) };
      return {
        ...hooked,
        text: hasTools ? addServer(hooked.text, place, server, bin).text : withoutTools(hooked.text),
      };
    },
    without: (text, created) => removeHooks(withoutTools(text), isKites, created),
  };
}
