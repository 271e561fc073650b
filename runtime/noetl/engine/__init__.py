"""The pure engine: state is a fold over events, decisions follow from state, nothing here touches the outside."""
