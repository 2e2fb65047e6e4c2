// Search runs in a web worker, which browsers refuse to pages that are opened from the file system. There, this class runs the
// same script in a hidden frame. It has the part of the Worker interface that the site's search uses.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage?.({ data: copy }));
      };
      this.loaded = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = resolve;
        script.onerror = (event) => this.onerror?.(event);
        inside.document.head.appendChild(script);
      });
    }

    postMessage(message) {
      const data = structuredClone(message);
      this.loaded.then(() => {
        const inside = this.frame.contentWindow;
        inside?.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
