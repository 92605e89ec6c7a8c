// The link to a drive that is served: a WebSocket to the server that gave out this page.

import { MessageLink } from "./messages.js";

export class SocketLink extends MessageLink {
  // Connects, and sends the token first. With `own` the link has a drive of its own, beside the one that
  // all pages share.
  static async open(token, own = false, url = `ws://${location.host}/window`) {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    const link = new SocketLink((message) => socket.send(message));
    link.socket = socket;
    socket.onmessage = ({ data }) => link.take(data);
    socket.onclose = ({ reason }) => link.end(reason || "the server has ended");
    socket.onopen = () => link.send(JSON.stringify({ token, own }));
    return link.greeted();
  }

  close() {
    this.socket.close();
  }
}
