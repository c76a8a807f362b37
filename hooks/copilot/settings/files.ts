/** What the client's files hold of Kite's: a file of its own with the hooks, and the server of the tools. */
import type { KitePaths } from "../../../protocol/paths.ts";
import { SettingsRefused } from "../../install/failed.ts";
import type { ClientFile } from "../../install/hooks-file.ts";
import { mcpPath } from "../../install/launcher.ts";
import { addServer, removeServer } from "../../install/server-text.ts";
import { copilotHooks } from "./entries.ts";
import { clientName, type Env, hooksFile, isKites, serversFile } from "./where.ts";

const ownFile = { empty: "", isEmpty: (text: string) => text === "" };

export function hooksOf(paths: KitePaths, env: Env): ClientFile {
  const wanted = `${JSON.stringify(copilotHooks(env["KITE_HOME"] ? paths.bin : null), null, 2)}\n`;
  return {
    paths,
    settings: hooksFile(env),
    client: clientName,
    shared: false,
    format: ownFile,
    plan: text => {
      if (text === "" || isKites(text)) return { text: wanted, created: null };
      throw new SettingsRefused("it is another program's; move it, and install again");
    },
    without: text => (isKites(text) ? "" : text),
  };
}

const place = ["mcpServers"];

export function toolsOf(paths: KitePaths, env: Env): ClientFile {
  const entry = { type: "local", command: mcpPath(paths.bin), args: [], tools: ["*"] };
  return {
    paths,
    settings: serversFile(env),
    client: clientName,
    shared: false,
    plan: (text, created) => ({ text: addServer(text, place, entry, paths.bin).text, created }),
    without: text => removeServer(text, place, paths.bin, { from: 0, empty: null }),
  };
}
