"""The links of a group: connections that carry frames and never wait."""
