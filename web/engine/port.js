// The link to a drive of a notebook: a port to the cell that this page stands in.

import { MessageLink } from "./messages.js";

export class PortLink extends MessageLink {
  // Asks the page around for a port. It is the only one that can answer.
  static open() {
    return new Promise((resolve) => {
      const meet = ({ source, data, ports: [port] }) => {
        if (source !== window.parent || data !== "nandlab" || !port) return;
        removeEventListener("message", meet);
        const link = new PortLink((message) => port.postMessage(message));
        link.port = port;
        port.onmessage = (event) => link.take(event.data);
        resolve(link.greeted());
      };
      addEventListener("message", meet);
      window.parent.postMessage("nandlab", "*");
    });
  }

  close() {
    this.port.close();
  }
}
