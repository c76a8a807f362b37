/** What the client's files hold of Kite's: a file of its own with the plugin, and the server of the tools in its settings. */
import type { KitePaths } from "../../../protocol/paths.ts";
import { SettingsRefused } from "../../install/failed.ts";
import type { ClientFile } from "../../install/hooks-file.ts";
import { mcpPath } from "../../install/launcher.ts";
import { addServer, removeServer } from "../../install/server-text.ts";
import { clientName, type Env, pluginFile, pluginMark, settingsFile } from "./where.ts";

const ownFile = { empty: "", isEmpty: (text: string) => text === "" };

/** The plugin, made of its program's text. It finds another home than the usual one by its own first words. */
export function pluginOf(paths: KitePaths, env: Env, program: string): ClientFile {
  const home = env["KITE_HOME"] ? `process.env.KITE_HOME ||= ${JSON.stringify(paths.home)};\n` : "";
  const wanted = `${pluginMark}${home}${program}`;
  return {
    paths,
    settings: pluginFile(env),
    client: clientName,
    shared: false,
    format: ownFile,
    plan: text => {
      if (text === "" || text.startsWith(pluginMark)) return { text: wanted, created: null };
      throw new SettingsRefused("it is another program's; move it, and install again");
    },
    without: text => (text.startsWith(pluginMark) ? "" : text),
  };
}

const place = ["mcp"];

export function toolsOf(paths: KitePaths, env: Env): ClientFile {
  const entry = { type: "local", command: [mcpPath(paths.bin)], enabled: true };
  return {
    paths,
    settings: settingsFile(env),
    client: clientName,
    shared: false,
    plan: (text, created) => ({ text: addServer(text, place, entry, paths.bin).text, created }),
    without: text => removeServer(text, place, paths.bin, { from: 0, empty: null }),
  };
}
