import { type ComponentChild, h } from 'preact';

/** Copies a drawn element into components, so that its texts and attributes are escaped. */
export function toNode(element: Element): ComponentChild {
  const attributes = Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value]));
  const children = [...element.childNodes].map((child) => {
    if (child.nodeType === 1) return toNode(child as Element);
    return child.nodeType === 3 ? child.textContent : null;
  });
  return h(element.localName, attributes, ...children);
}
