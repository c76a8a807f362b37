/**
 * What the wire alone costs: lines in, the same objects out. With `batch` all that answers one chunk is one write, as
 * Kite does it; else every line is a write of its own. `SOCKET [batch]`
 */
import { createServer } from "node:net";
import { encodeLine, LineDecoder } from "../../../protocol/wire.ts";

const [, , path, mode] = process.argv;
const server = createServer(socket => {
  const decoder = new LineDecoder();
  socket.on("data", chunk => {
    let out = "";
    for (const line of decoder.push(chunk)) {
      if (!("text" in line)) continue;
      const reply = encodeLine(JSON.parse(line.text));
      if (mode === "batch") out += reply;
      else socket.write(reply);
    }
    if (out !== "") socket.write(out);
  });
  socket.on("error", () => socket.destroy());
});
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
server.listen(path, () => process.send?.("ready"));
